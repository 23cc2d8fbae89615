// Package diagnose turns what the clients return into diagnostics: errors of whole calls (CallFailed), and
// outcomes by host (Rows). The package that creates an outcome sets its Meaning, and checks of a configuration
// word their own errors.
//
// A diagnostic says what was not done, what the platform said, and what to do about it. The same failures give
// the same text, in whatever order they arrive.
package diagnose
