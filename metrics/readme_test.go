package metrics

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The README's table of metrics is this package's.
func TestReadmeListsEveryMetric(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| name | type | labels | meaning |\n| --- | --- | --- | --- |\n")
	for _, row := range Table {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", row.Name, row.Type, strings.Join(row.Labels, ", "), row.Help)
	}
	if !strings.Contains(string(text), want.String()+"\n") {
		t.Errorf("the README's table of metrics is not:\n%s", want.String())
	}
}
