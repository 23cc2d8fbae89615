// Package provider is the provider itself: its settings, its objects, and its server. Resources, data sources,
// actions and functions are in packages of their own (hostedprocess, processoperation, processstatus,
// inventory, hostfunction), and get a platform.Platform from this package.
//
// Every setting is declared once, in settings.go. The file config.go reads the settings from the block and the
// environment, checks conditions on several of them, and connects the clients.
package provider
