package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/structs"
	"github.com/knadh/koanf/v2"
)

// Sources are where a configuration comes from, over the defaults: each field
// wins over those above it.
type Sources struct {
	// File is the path of a YAML file; "": none. Content is what the file
	// holds, nil: Load reads it.
	File    string
	Content []byte
	// Environ is the environment, as of os.Environ.
	Environ []string
	// Set holds key=value, as given to --set. Of two for one key the last
	// wins.
	Set []string
	// Flags holds the texts given to flags of their own, by the paths of
	// their keys.
	Flags map[string]string
}

const variablePrefix = "SOAKLINE_"

// foreignVariable matches what has the daemon's prefix and is not for it: a
// switch of the tests, and what Kubernetes tells every pod about a service
// named soakline.
var foreignVariable = regexp.MustCompile(`^SOAKLINE_(REQUIRE_SERVER|SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// loader gathers what the sources give and what is wrong with it.
type loader struct {
	layers  []map[string]any    // values by path, the weakest layer first
	secrets map[string]Password // by path
	origin  map[string]string   // what gave the value in force, by path
	faulty  map[string]bool     // what some source gave wrongly, by path
	faults  []fault
}

// Load reads the sources. Its error is an *Error with every fault of every
// source; then the configuration is the zero value. Secrets in files are left
// to ReadSecrets.
func Load(s Sources) (Config, error) {
	l := loader{secrets: map[string]Password{}, origin: map[string]string{}, faulty: map[string]bool{}}
	if s.File != "" {
		l.file(s.File, s.Content)
	}
	l.environment(s.Environ)
	l.set(s.Set)
	l.flags(s.Flags)
	c, err := l.merge()
	if err != nil {
		return Config{}, err
	}
	faulty := maps.Clone(l.faulty) // and not what contradicts another key
	for _, f := range c.contradictions() {
		if f.meaningful(faulty) {
			l.fault(l.origins(append([]string{f.path}, f.with...)...), f)
		}
	}
	if err := asError(l.faults); err != nil {
		return Config{}, err
	}
	return c, nil
}

func (l *loader) file(name string, content []byte) {
	if content == nil {
		var err error
		if content, err = os.ReadFile(name); err != nil {
			l.fault("", fault{what: err.Error(), want: "a file that can be read"})
			return
		}
	}
	root, err := parseYAML(content)
	if err != nil {
		l.fault(name, fault{what: err.Error(), want: "one YAML document"})
		return
	}
	if root == nil {
		return
	}
	place := func(line int) string { return fmt.Sprintf("%s:%d", name, line) }
	layer := map[string]any{}
	faults := readYAML("", root, func(path string, value any, line int) {
		layer[path] = value
		l.origin[path] = place(line)
	})
	l.layers = append(l.layers, layer)
	for _, f := range faults {
		l.fault(place(f.line), f)
	}
}

func (l *loader) environment(environ []string) {
	known := map[string]string{} // paths by variable
	for _, k := range keys {
		known[variable(k.path)] = k.path
	}
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, text, _ := strings.Cut(entry, "=")
		path, ok := known[name]
		s, isSecret := secretOf(name)
		switch {
		case !strings.HasPrefix(name, variablePrefix) || foreignVariable.MatchString(name):
		case isSecret:
			l.secrets[s.path] = Password(text)
			l.origin[s.path] = name
		case ok:
			l.text(name, path, text)
		default:
			path := strings.ToLower(strings.TrimPrefix(name, variablePrefix))
			l.fault("", fault{path: name, what: "unknown variable", want: "a known one, such as " + nearestVariable(path)})
		}
	}
}

func (l *loader) set(arguments []string) {
	for i, argument := range arguments {
		path, text, found := strings.Cut(argument, "=")
		if !found { // and nothing of it is shown: it may be a misplaced secret
			l.fault("", fault{path: "--set", what: fmt.Sprintf("argument %d has no =", i+1), want: "key=value"})
			continue
		}
		l.text("--set", path, text)
	}
}

func (l *loader) flags(texts map[string]string) {
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		k, _ := keyAt(path)
		l.text("--"+cmp.Or(k.flag, path), path, texts[path])
	}
}

// text takes the text that source gives for the key at path. An argument that
// is not a key may hold anything, a line break or a secret.
func (l *loader) text(source, path, text string) {
	k, known := keyAt(path)
	s, isSecret := secretAt(path)
	switch {
	case isSecret:
		l.fault(source, s.misplaced())
		return
	case !known:
		l.fault(source, fault{path: segment(path), what: "unknown key", want: "a known one, such as " + nearest(path)})
		return
	}
	v, faults := k.form.fromText(path, text)
	for _, f := range faults {
		l.fault(source, f)
	}
	if len(faults) == 0 {
		l.layers = append(l.layers, map[string]any{path: v})
		l.origin[path] = source
	}
}

func (l *loader) fault(source string, f fault) {
	f.source = source
	l.faults = append(l.faults, f)
	l.faulty[f.key()] = true
}

// origins lists what gave the values at paths; "": the defaults did.
func (l *loader) origins(paths ...string) string {
	var origins []string
	for _, path := range paths {
		if origin, given := l.origin[path]; given && !slices.Contains(origins, origin) {
			origins = append(origins, origin)
		}
	}
	return strings.Join(origins, ", ")
}

// merge lays the layers over the defaults. Their values have been read and
// judged one by one: what it could fail at is a key without a field.
func (l *loader) merge() (Config, error) {
	k := koanf.New(".")
	err := k.Load(structs.Provider(Default(), "koanf"), nil)
	for _, layer := range l.layers {
		err = errors.Join(err, k.Load(confmap.Provider(layer, "."), nil))
	}
	var c Config
	err = errors.Join(err, k.UnmarshalWithConf("", &c, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		TagName:     "koanf",
		ErrorUnused: true,
		MatchName:   func(key, field string) bool { return key == field },
	}}))
	for _, s := range secrets {
		*s.in(&c) = l.secrets[s.path]
	}
	return c, err
}

// nearest is the path of a key that differs from name in the fewest letters,
// sections that name leaves out aside.
func nearest(name string) string {
	flat := strings.NewReplacer(".", "_")
	name = flat.Replace(name)
	var paths []string
	for _, s := range secrets {
		paths = append(paths, s.path)
	}
	for _, k := range keys {
		paths = append(paths, k.path)
	}
	return slices.MinFunc(paths, func(a, b string) int {
		return letters(name, flat.Replace(a)) - letters(name, flat.Replace(b))
	})
}

// nearestVariable is the variable of what is nearest to name.
func nearestVariable(name string) string {
	path := nearest(name)
	if s, isSecret := secretAt(path); isSecret {
		return s.variable
	}
	return variable(path)
}

// letters counts what to take out of and put into name to get path: the
// lengths of both less twice their longest common subsequence.
func letters(name, path string) int {
	if strings.HasSuffix(path, "_"+name) {
		return 0
	}
	common := make([]int, len(path)+1) // of name so far and each beginning of path
	for i := range len(name) {
		diagonal := 0
		for j := range len(path) {
			above := common[j+1]
			if name[i] == path[j] {
				common[j+1] = diagonal + 1
			} else {
				common[j+1] = max(above, common[j])
			}
			diagonal = above
		}
	}
	return len(name) + len(path) - 2*common[len(path)]
}
