// Package diagnose turns what the clients return into diagnostics: errors of whole calls
// (CallFailed), and outcomes by host (Rows). The packages that make an outcome give it its
// Meaning, and checks of a configuration word their own errors.
//
// A diagnostic names what was not done, what the platform said, and what to do about it.
// Its text is the same for the same failures, whatever order they came in.
package diagnose
