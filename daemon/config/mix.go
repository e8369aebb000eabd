package config

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"soakline/daemon/workload"
)

// mix is the form of workload.mix, a list of shares.
type mix struct{}

// shareForms are the forms of a share's keys, in the order of shareKeys.
var (
	shareKeys  = []string{"command", "weight"}
	shareForms = map[string]form{
		"command": word(workload.CommandNames()),
		"weight":  number(1e-6, 1e6),
	}
)

func (mix) kind() string { return "a list" }
func (mix) want() string { return "a list of {command: …, weight: …}, each command once" }

func (m mix) fromNode(path string, n *yaml.Node) (any, []fault) {
	if n.Kind != yaml.SequenceNode {
		return nil, []fault{{path: path, what: shape(n) + " is not a list", want: m.want(), line: n.Line}}
	}
	var shares []Share
	var faults []fault
	for i, item := range n.Content {
		share, wrong := m.share(element(path, i), resolve(item))
		shares = append(shares, share)
		faults = append(faults, wrong...)
	}
	if len(faults) == 0 {
		faults = m.check(path, shares)
		for i := range faults {
			faults[i].line = n.Line
		}
	}
	return shares, faults
}

// share reads the element at path.
func (m mix) share(path string, n *yaml.Node) (Share, []fault) {
	values := map[string]any{}
	faults := fields(path, n, shareKeys, func(name string, n *yaml.Node) []fault {
		value, faults := shareForms[name].fromNode(join(path, name), n)
		values[name] = value
		return faults
	})
	if n.Kind == yaml.MappingNode {
		for _, name := range shareKeys {
			if _, given := values[name]; !given {
				faults = append(faults, fault{path: join(path, name), what: "is missing", want: shareForms[name].want(), line: n.Line})
			}
		}
	}
	if len(faults) > 0 {
		return Share{}, faults
	}
	return Share{values["command"].(string), values["weight"].(float64)}, nil
}

func (m mix) fromText(path, text string) (any, []fault) {
	n, err := parseYAML([]byte(text))
	if err != nil || n == nil {
		return nil, []fault{{path: path, what: strconv.Quote(text) + " is not a list", want: m.want()}}
	}
	return m.fromNode(path, n)
}

func (m mix) check(path string, value any) []fault {
	shares := value.([]Share)
	if len(shares) == 0 {
		return []fault{{path: path, what: "is empty", want: m.want()}}
	}
	var faults []fault
	seen := map[string]bool{}
	for i, share := range shares {
		at := element(path, i)
		faults = append(faults, shareForms["command"].check(join(at, "command"), share.Command)...)
		faults = append(faults, shareForms["weight"].check(join(at, "weight"), share.Weight)...)
		if seen[share.Command] {
			faults = append(faults, fault{path: at, what: fmt.Sprintf("%q is listed twice", share.Command), want: m.want()})
		}
		seen[share.Command] = true
	}
	return faults
}

func (mix) plain(value any) any {
	shares := []any{}
	for _, share := range value.([]Share) {
		shares = append(shares, map[string]any{"command": share.Command, "weight": share.Weight})
	}
	return shares
}
