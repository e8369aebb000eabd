package batch_test

import (
	"testing"

	"soakline/daemon/batch"
)

func TestReasonNames(t *testing.T) {
	for reason, want := range map[batch.Reason]string{
		batch.Commands:     "commands",
		batch.RequestBytes: "request_bytes",
		batch.ReplyBytes:   "reply_bytes",
		batch.Delay:        "delay",
		batch.Idle:         "idle",
		batch.Oversize:     "oversize",
		batch.Drain:        "drain",
	} {
		if got := reason.String(); got != want {
			t.Errorf("Reason(%d) is %q, want %q", reason, got, want)
		}
	}
}

func TestModes(t *testing.T) {
	for _, tt := range []struct {
		name     string
		mode     batch.Mode
		found    bool
		commands int // what becomes of a cap of 64
	}{
		{"pipeline", batch.Pipeline, true, 64},
		{"single", batch.Single, true, 1},
		{name: "Single"},
		{name: ""},
	} {
		mode, found := batch.ModeByName(tt.name)
		if mode != tt.mode || found != tt.found {
			t.Errorf("ModeByName(%q) = %d, %t, want %d, %t", tt.name, mode, found, tt.mode, tt.found)
		}
		if !found {
			continue
		}
		if mode.String() != tt.name {
			t.Errorf("mode %q calls itself %q", tt.name, mode)
		}
		limits := batch.Limits{Commands: 64, RequestBytes: 1000, ReplyBytes: 2000, Delay: 5}
		want := limits
		want.Commands = tt.commands
		if got := limits.In(mode); got != want {
			t.Errorf("%+v.In(%v) = %+v, want %+v", limits, mode, got, want)
		}
	}
}
