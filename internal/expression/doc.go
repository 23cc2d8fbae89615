// Package expression selects names as GSEKit does, whose users know the grammar from the scope of their
// processes. Source: apps/gsekit/utils/expression_utils of TencentBlueKing/bk-process-config-manager, a
// dialect of Python's fnmatch. A whole name has to match, and case matters.
//
//   - any text, also none
//     ?            one character
//     [a, b]       one of these words, spaces around them left out; * and ? work in them
//     [1-100]      a number from 1 to 100, without leading zeros
//     [a-f]        a letter from a to f
//     [1-3, 5, x]  any of these
//     [!ab]        one character, neither a nor b
//     [!a-f]       one character, none from a to f
//     [[ab]]       one character, a or b
//     [0:10]       for ids: the first ten of them
//
// Several brackets multiply: gz-[1-2]-[a,b] has four names.
//
// What surprises is kept, because expressions are copied from there:
//
//   - [ab] is the word ab.
//   - A range that does not count upwards ([9-1], [3-3], [c-a]), or mixes cases or
//     kinds ([a-Z], [a-9]), is a word as it stands; so is one with spaces, [1 - 3].
//   - [01-10] is [1-10]: the zeros mean nothing, and 01 does not match.
//   - [!a, b] excludes the comma and the space as well; [a, !b] is a word or what is
//     not b.
//   - [] is the word without letters, as are those around a comma too many.
//   - A ] without a [ stands for itself.
//
// What Python would make of other brackets inside of brackets, and of [!], depends on
// what follows far behind them. Those are errors here.
package expression
