// Package fold carries a large map of strings through terraform-plugin-framework
// in one piece.
//
// The framework (v1.19) walks every element of every value several times for each
// request: once to look for blocks, once for defaults, once for write-only
// attributes, and each time it looks up the element's path in the schema. For
// a map of 10,000 strings that was 0.33 s of the 0.35 s of a plan, and 50 ms of each
// of the smaller requests. None of those walks can find anything in a plain map of strings.
//
// So [Server] stands between Terraform and the framework. Terraform sees a map of
// strings; in what the framework gets, the map's own encoding (MessagePack) is the
// content of one string, which it hands from place to place as it is. [Map] is that
// string in a schema and in a model, and reads it where the elements are needed.
// What comes back is unfolded by putting the bytes where the string was.
//
// What is lost is what the framework could do with elements: validators, plan
// modifiers and defaults below the map. Those of the whole map work on [Map].
package fold
