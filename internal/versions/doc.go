// Package versions tests on which command lines the provider runs.
//
//   - TestAccVersions runs, on the command line at hand, everything that users do with it and
//     this provider: the features that its release has, and checks that it lacks the others.
//   - testdata/runs.json has the releases that passed, and how often they are run. The guide
//     about versions is rendered from it.
//   - The versions that README, documentation and modules claim to support were run.
package versions
