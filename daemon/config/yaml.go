package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

var errSecondDocument = errors.New("there is a second document")

// parseYAML is the root of the only document in content, nil if it says
// nothing. Its error is one line.
func parseYAML(content []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, unreadable(err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, errSecondDocument
	case !errors.Is(err, io.EOF):
		return nil, unreadable(err)
	}
	root := resolve(document.Content[0])
	if isNull(root) {
		return nil, nil
	}
	return root, nil
}

// readYAML hands what the map n, which stands at path, gives for the keys
// below path to take, save what has faults.
func readYAML(path string, n *yaml.Node, take func(path string, value any, line int)) []fault {
	return fields(path, n, children(path), func(name string, n *yaml.Node) []fault {
		path := join(path, name)
		k, leaf := keyAt(path)
		if !leaf {
			return readYAML(path, n, take)
		}
		value, faults := k.form.fromNode(path, n)
		if len(faults) == 0 {
			take(path, value, n.Line)
		}
		return faults
	})
}

// fields hands the entries of the map n, which stands at path, to take. One
// without a value is as good as absent. It finds names that are given twice or
// are not known.
func fields(path string, n *yaml.Node, known []string, take func(name string, n *yaml.Node) []fault) []fault {
	list := strings.Join(known, ", ")
	if n.Kind != yaml.MappingNode {
		return []fault{{path: path, what: shape(n) + " is not a map", want: "a map of " + list, line: n.Line}}
	}
	var faults []fault
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		name, item := resolve(n.Content[i]), resolve(n.Content[i+1])
		f := fault{path: join(path, nameOf(name)), line: name.Line}
		s, isSecret := secretAt(f.path)
		switch {
		case isSecret:
			f.what, f.want = s.misplaced().what, s.misplaced().want
		case name.Kind != yaml.ScalarNode || !slices.Contains(known, name.Value):
			f.what, f.want = "unknown key", "one of "+list
		case seen[name.Value]:
			f.what, f.want = "is given twice", "it once"
		default:
			seen[name.Value] = true
			if !isNull(item) {
				faults = append(faults, take(name.Value, item)...)
			}
			continue
		}
		faults = append(faults, f)
	}
	return faults
}

// resolve is what n stands for.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// shape is what stands at n, as a noun.
func shape(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	return "a single value"
}

// nameOf is the name of a key, as a fault may show it.
func nameOf(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode {
		return shape(n)
	}
	return segment(n.Value)
}

// unreadable wraps what the parser says, which may be several lines.
func unreadable(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	return fmt.Errorf("cannot be read as YAML, %s", strings.Join(strings.Fields(text), " "))
}
