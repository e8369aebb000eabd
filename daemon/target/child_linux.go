package target

import "syscall"

// childAttributes keep the terminal's signals from the child, whose end is the
// daemon's to choose, and end it when the daemon is killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
