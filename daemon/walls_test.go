package daemon

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// walls are what the layers may know. Folders are relative to the module.
var walls = []struct {
	what    string
	allowed []string // folders in which it may occur
	found   func(f *ast.File) bool
}{
	{"go-redis", []string{"daemon/target"}, imports("github.com/redis/go-redis")},
	{"client_golang", []string{"metrics"}, imports("github.com/prometheus/client_golang", "github.com/prometheus/client_model")},
	{"koanf", []string{"daemon/config"}, imports("github.com/knadh/koanf")},
	{"os.Exit", []string{"cmd/soakline"}, calls("os", "Exit")},
	{"log.Fatal", nil, calls("log", "Fatal", "Fatalf", "Fatalln")},
	{"time.Now", []string{"daemon", "daemon/target"}, calls("time", "Now", "Since", "Until")},
	// that of servertest holds the thread that a child process is bound to
	{"a goroutine", []string{"daemon", "daemon/servertest", "daemon/target", "cmd/soakline"}, func(f *ast.File) bool {
		return holds(f, func(n ast.Node) bool { _, is := n.(*ast.GoStmt); return is })
	}},
	{"an init function", nil, func(f *ast.File) bool {
		return holds(f, func(n ast.Node) bool {
			d, is := n.(*ast.FuncDecl)
			return is && d.Name.Name == "init" && d.Recv == nil
		})
	}},
}

// inside are the folders that a folder may import from this module; one that
// is not listed may import none. daemon/servertest is for tests, which do not count.
var inside = map[string][]string{
	"cmd/soakline":  {"daemon", "daemon/config", "metrics"},
	"daemon":        {"daemon/arrival", "daemon/batch", "daemon/config", "daemon/target", "daemon/workload", "metrics"},
	"daemon/batch":  {"daemon/workload"},
	"daemon/config": {"daemon/arrival", "daemon/batch", "daemon/workload"},
	"daemon/target": {"daemon/batch", "daemon/workload"},
}

// onlyStandard are the folders that know nothing but the standard library, and
// what inside gives them.
var onlyStandard = []string{"daemon/arrival", "daemon/batch", "daemon/servertest", "daemon/workload"}

func TestWalls(t *testing.T) {
	root := ".."
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		folder := filepath.ToSlash(filepath.Dir(relative))
		for _, w := range walls {
			if w.found(f) && !slices.Contains(w.allowed, folder) {
				t.Errorf("%s has %s, which may only be in %q", relative, w.what, w.allowed)
			}
		}
		for _, i := range f.Imports {
			name := strings.Trim(i.Path.Value, `"`)
			if own, is := strings.CutPrefix(name, "soakline/"); is {
				if !slices.Contains(inside[folder], own) {
					t.Errorf("%s imports %s; %s may import %q", relative, own, folder, inside[folder])
				}
			} else if slices.Contains(onlyStandard, folder) && strings.Contains(name, ".") {
				t.Errorf("%s imports %s; %s may only know the standard library", relative, name, folder)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Fatalf("only %d files were found", files)
	}
}

func imports(prefixes ...string) func(*ast.File) bool {
	return func(f *ast.File) bool {
		return slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool {
			return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(i.Path.Value, `"`+p) })
		})
	}
}

// calls finds the use of a function of a package, called or not.
func calls(pkg string, names ...string) func(*ast.File) bool {
	return func(f *ast.File) bool {
		return holds(f, func(n ast.Node) bool {
			s, is := n.(*ast.SelectorExpr)
			if !is || !slices.Contains(names, s.Sel.Name) {
				return false
			}
			x, is := s.X.(*ast.Ident)
			return is && x.Name == pkg
		})
	}
}

func holds(f *ast.File, what func(ast.Node) bool) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		found = found || n != nil && what(n)
		return !found
	})
	return found
}
