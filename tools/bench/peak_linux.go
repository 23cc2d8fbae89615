package main

import "syscall"

// peakBytes is the most memory that a process held at once. Linux counts KiB.
func peakBytes(usage *syscall.Rusage) int64 { return usage.Maxrss * 1024 }
