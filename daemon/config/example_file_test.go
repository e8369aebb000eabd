package config

import (
	"os"
	"reflect"
	"testing"
)

// The file in deploy documents every key: it holds each one, at its default.
func TestExampleFile(t *testing.T) {
	const path = "../../deploy/soakline.yaml"
	c, err := Load(Sources{File: path})
	if err != nil {
		t.Fatal(err)
	}
	if want := Default(); !reflect.DeepEqual(c, want) {
		t.Errorf("the file is\n%s\nand the defaults are\n%s", c.YAML(), want.YAML())
	}

	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root, err := parseYAML(content)
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{}
	for _, f := range readYAML("", root, func(path string, _ any, _ int) { given[path] = true }) {
		t.Error(f)
	}
	for _, k := range Keys() {
		if !given[k.Path] {
			t.Errorf("%s is missing", k.Path)
		}
	}
}

// Each row of the table has a field with its default, and each field a row.
func TestKeysAreTheFields(t *testing.T) {
	all := values(Default())
	for _, k := range Keys() {
		if _, ok := all[k.Path]; !ok {
			t.Errorf("%s has no field in Config", k.Path)
		}
		delete(all, k.Path)
		if k.Env == "" || k.Type == "" || k.Accepts == "" || k.Help == "" {
			t.Errorf("%s is not described: %+v", k.Path, k)
		}
	}
	for path := range all {
		t.Errorf("%s has no row in the table of keys", path)
	}
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}
