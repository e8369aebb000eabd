package servertest

import "syscall"

// attributes keep the terminal's signals from the server, and end it when the
// test is killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
