// Package providertest has what tests of the provider share: a simulator (Sim), and three ways to run a
// provider against it.
//
//   - Factories, for terraform-plugin-testing: a real CLI that calls a provider in the
//     test's own process
//   - CLI, for a real CLI and a provider process of its own: signals, exit codes, output
//   - Protocol and Core, which call the provider as Terraform does, without a CLI:
//     fast enough for hundreds of runs
//
// Tests use hosts web-1, web-2, … with the addresses of Address, and by default the process nginx in
// namespace web.
package providertest
