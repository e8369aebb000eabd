package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// parentMode makes the test binary a parent that starts a private server and
// waits for its end.
const parentMode = "SOAKLINE_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentMode) != "" {
		p, err := Start(context.Background())
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(p.Socket)
		select {}
	}
	goleak.VerifyTestMain(m)
}

// private starts a private server for a test. Where no server is installed the
// test is skipped, or fails if SOAKLINE_REQUIRE_SERVER=1.
func private(t testing.TB) *Private {
	t.Helper()
	p, err := Start(t.Context())
	if errors.Is(err, ErrNoServer) && os.Getenv("SOAKLINE_REQUIRE_SERVER") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}
