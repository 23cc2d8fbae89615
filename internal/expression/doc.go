// Package expression selects names as GSEKit does, whose users know the grammar from the scope of their
// processes. Source: apps/gsekit/utils/expression_utils of TencentBlueKing/bk-process-config-manager, a
// dialect of Python's fnmatch. The whole name must match, and case matters.
//
//   - any text, including none
//     ?            one character
//     [a, b]       one of these words, without the spaces around them; * and ? work in them
//     [1-100]      a number from 1 to 100, without leading zeros
//     [a-f]        a letter from a to f
//     [1-3, 5, x]  any of these
//     [!ab]        one character, neither a nor b
//     [!a-f]       one character, none from a to f
//     [[ab]]       one character, a or b
//     [0:10]       for ids: the first ten of them
//
// Several brackets multiply: gz-[1-2]-[a,b] matches four names.
//
// Because expressions are copied from GSEKit, these surprises are kept:
//
//   - [ab] is the word ab.
//   - A range that does not count upwards ([9-1], [3-3], [c-a]), or mixes cases or
//     kinds ([a-Z], [a-9]), is a literal word; so is one with spaces, [1 - 3].
//   - [01-10] is [1-10]: leading zeros are ignored, and 01 does not match.
//   - [!a, b] also excludes the comma and the space; [a, !b] is the word a, or one
//     character other than b.
//   - [] is the empty word, as is an empty element beside a comma.
//   - A ] without a [ stands for itself.
//
// How Python reads other brackets inside of brackets, and [!], depends on the text far
// behind them. Those are errors here.
package expression
