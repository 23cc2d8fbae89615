//go:build unix

package core

import (
	"errors"
	"syscall"
)

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// killGroup kills the session that a command leads.
func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

func killPID(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

// pidExists sends signal 0. EPERM means that the process exists but belongs to another user.
func pidExists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
