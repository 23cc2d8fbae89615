// Package provider is the provider itself: its block of settings, what it serves, and the
// server that serves it. Resources, data sources, actions and functions are in packages of
// their own (hostedprocess, processoperation, processstatus, hostfunction), and get a
// platform.Platform from here.
//
// Every setting is declared once, in settings.go; config.go resolves the settings from the
// block and the environment, checks what is about several of them, and connects the
// clients.
package provider
