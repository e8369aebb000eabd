package config

import (
	"errors"
	"strings"

	"github.com/knadh/koanf/maps"
	"go.yaml.in/yaml/v3"
)

// Redacted is c by its keys, nested as in the file: what JSON can hold, with
// durations and sizes as text, and without secrets.
func (c Config) Redacted() map[string]any {
	all := values(c)
	for _, k := range keys {
		all[k.path] = k.form.plain(all[k.path])
	}
	return maps.Unflatten(all, ".")
}

// YAML is c as a configuration file, in the order of the table of keys and
// without secrets. Load takes it, unless the url holds a password.
func (c Config) YAML() string {
	all := values(c)
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, k := range keys {
		var value yaml.Node
		if err := value.Encode(k.form.plain(all[k.path])); err != nil {
			panic(err) // plain values are YAML
		}
		sections := strings.Split(k.path, ".")
		parent := root
		for _, section := range sections[:len(sections)-1] {
			parent = below(parent, section)
		}
		put(parent, sections[len(sections)-1], &value)
	}
	var text strings.Builder
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(root), encoder.Close()); err != nil {
		panic(err) // so is a tree of them
	}
	return text.String()
}

// below is the map called name in parent.
func below(parent *yaml.Node, name string) *yaml.Node {
	for i := 0; i < len(parent.Content); i += 2 {
		if parent.Content[i].Value == name {
			return parent.Content[i+1]
		}
	}
	section := &yaml.Node{Kind: yaml.MappingNode}
	put(parent, name, section)
	return section
}

func put(parent *yaml.Node, name string, value *yaml.Node) {
	parent.Content = append(parent.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, value)
}
