//go:build !linux

package main

import "syscall"

// peakBytes is the most memory that a process held at once. macOS counts bytes.
func peakBytes(usage *syscall.Rusage) int64 { return int64(usage.Maxrss) }
