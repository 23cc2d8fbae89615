//go:build !unix

package core

import (
	"errors"
	"syscall"
)

// Local hosts need a Unix; on other systems their processes are not found alive.

func ownSession() *syscall.SysProcAttr { return nil }

var errNoLocalHosts = errors.New("local hosts need a Unix")

func killGroup(int) error { return errNoLocalHosts }

func killPID(int) error { return errNoLocalHosts }

func pidExists(int) bool { return false }
