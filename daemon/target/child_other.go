//go:build !linux

package target

import "syscall"

// childAttributes keep the terminal's signals from the child, whose end is the
// daemon's to choose. Elsewhere than on Linux a child cannot be bound to its
// parent's life: a daemon that is killed outright leaves its server behind.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
