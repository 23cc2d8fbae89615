//go:build !unix

package core

import (
	"errors"
	"syscall"
)

// Local hosts need a Unix; elsewhere their commands fail to be found alive.

func ownSession() *syscall.SysProcAttr { return nil }

var errNoLocalHosts = errors.New("local hosts need a Unix")

func killGroup(int) error { return errNoLocalHosts }

func killPID(int) error { return errNoLocalHosts }

func pidExists(int) bool { return false }
