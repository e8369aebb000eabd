package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// list is the form of a list of text.
type list struct {
	accepts string
	element scalar
	same    func(element string) string // equal for two that mean the same
}

func (list) kind() string   { return "a list" }
func (l list) want() string { return l.accepts + ", each once" }

func (l list) fromNode(path string, n *yaml.Node) (any, []fault) {
	if n.Kind != yaml.SequenceNode {
		return nil, []fault{{path: path, what: shape(n) + " is not a list", want: l.want(), line: n.Line}}
	}
	var elements []string
	var faults []fault
	for i, item := range n.Content {
		value, wrong := l.element.fromNode(element(path, i), resolve(item))
		text, _ := value.(string)
		elements = append(elements, text)
		faults = append(faults, wrong...)
	}
	if len(faults) == 0 {
		faults = l.check(path, elements)
		for i := range faults {
			faults[i].line = n.Line
		}
	}
	return elements, faults
}

// fromText reads flow YAML: [a, b].
func (l list) fromText(path, text string) (any, []fault) {
	n, err := parseYAML([]byte(text))
	if err != nil || n == nil {
		return nil, []fault{{path: path, what: l.element.quote(text) + " is not a list", want: l.want()}}
	}
	return l.fromNode(path, n)
}

func (l list) check(path string, value any) []fault {
	var faults []fault
	seen := map[string]bool{}
	for i, text := range value.([]string) {
		wrong := l.element.check(element(path, i), text)
		if faults = append(faults, wrong...); len(wrong) > 0 {
			continue
		}
		same := l.same(text)
		if seen[same] {
			faults = append(faults, fault{path: element(path, i), what: l.element.quote(text) + " is listed twice", want: l.want()})
		}
		seen[same] = true
	}
	return faults
}

func (list) plain(value any) any {
	elements := []any{}
	for _, text := range value.([]string) {
		elements = append(elements, text)
	}
	return elements
}

// element is the path of the element i of the list at path.
func element(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
