//go:build !linux

package main

import "syscall"

// peakBytes returns the peak memory of a process. macOS counts bytes.
func peakBytes(usage *syscall.Rusage) int64 { return int64(usage.Maxrss) }
