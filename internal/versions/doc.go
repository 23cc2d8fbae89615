// Package versions says on which command lines the provider was run: it has tests only.
//
//   - TestAccVersions tries, on the command line at hand, all that users do with one and
//     this provider: each feature that its release has, and that it lacks the others.
//   - testdata/runs.json keeps which releases passed, and how often they are run. The guide
//     about versions is rendered from it.
//   - What README, documentation and modules say to be supported was run.
package versions
