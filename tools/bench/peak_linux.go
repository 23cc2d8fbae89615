package main

import "syscall"

// peakBytes returns the peak memory of a process. Linux counts KiB.
func peakBytes(usage *syscall.Rusage) int64 { return usage.Maxrss * 1024 }
