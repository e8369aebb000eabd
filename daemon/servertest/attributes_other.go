//go:build !linux

package servertest

import "syscall"

// attributes keep the terminal's signals from the server. Elsewhere than on
// Linux a test that is killed leaves it behind.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
