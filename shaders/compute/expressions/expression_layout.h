// The layout on which the pass that evaluates expressions and the C++ that writes its steps agree.
#ifndef GARUDA_SHADERS_EXPRESSION_LAYOUT_H
#define GARUDA_SHADERS_EXPRESSION_LAYOUT_H

#include "../strings/strings_layout.h"

GARUDA_SHADER_BEGIN

// Values are 128 bits in a register: integers and decimals with their sign, booleans 0 or 1, floats their bits. A bit
// of a word says which registers hold a value that is not null.
const uint kRegisters = 32u;
const uint kNoOperand = 0xffu;

// A step is kExpressionStepWords u32. Word 0: the function, the register of its result and two operands, 8 bits each.
// Word 1: the third operand, the register that says which rows ask for the value (kNoOperand: all do), and the form.
// Words 2 and 3: numbers. Words 4 to 7: a value of 128 bits, or two addresses.
const uint kExpressionStepWords = 8u;

// Columns in, and out. Word 2: u32 words of a stored value; of kLoad kLoadSigned is added where narrow values have a
// sign. Words 4 and 5: where they are.
const uint kLoad = 0u;      // word 3: the bit that says null; words 6 and 7: words of null bits, 0: none is null
const uint kConstant = 1u;  // words 4 to 7: the value; word 2: 0 for null
const uint kStore = 2u;
const uint kStoreTrue = 3u;   // 1 where a boolean is true, else 0
const uint kMarkNull = 4u;    // word 2: a bit of the row's word of null bits, set where the value is null
const uint kStoreNulls = 5u;  // that word
const uint kLoadSigned = 0x100u;

// Three-valued logic, and choices. Word 2: the order of values, of kCompare with the comparator from bit 8 on.
const uint kCompare = 6u;
const uint kAll = 7u;
const uint kAny = 8u;
const uint kNot = 9u;
const uint kIsNull = 10u;
const uint kIsTrue = 11u;
const uint kSelect = 12u;
const uint kCoalesce = 13u;
const uint kLeast = 14u;
const uint kGreatest = 15u;
const uint kIn = 16u;  // word 3: how many constants; word 4: the word from `steps` on where they begin, four each; word
                       // 6: 1 where null is among them
const uint kOrderIntegers = 0u;
const uint kOrderFloat32 = 1u;
const uint kOrderFloat64 = 2u;

// Integers and decimals; the result is settled: it has to fit what word 2 says.
const uint kFirstInteger = 17u;
const uint kAdd = 17u;
const uint kSubtract = 18u;
const uint kMultiply = 19u;
const uint kMultiplyDivide = 20u;  // first * second / third, halves rounded away from zero
const uint kQuotient = 21u;        // cut towards zero
const uint kRemainder = 22u;
const uint kFloorQuotient = 23u;
const uint kFloorRemainder = 24u;
const uint kAbsolute = 25u;
const uint kSettle = 26u;
const uint kToBoolean = 27u;
const uint kLastInteger = 27u;
const uint kFitsDecimal = 0u;     // word 2: below words 4 to 7 without its sign
const uint kFitsSigned = 0x100u;  // bits below it
const uint kFitsUnsigned = 0x200u;

// Floats of binary32 and binary64, rounded once, to nearest even. Word 2: kWideFloat where the result is
// binary64; of kFloatToInteger and kFloatOfFloat kWideOperand where the operand is.
const uint kFirstFloat = 28u;
const uint kFloatAdd = 28u;
const uint kFloatSubtract = 29u;
const uint kFloatMultiply = 30u;
const uint kFloatDivide = 31u;
const uint kFloatOpposite = 32u;
const uint kFloatAbsolute = 33u;
const uint kFloatOfInteger = 34u;
const uint kFloatOfFloat = 35u;
const uint kLastFloat = 35u;
const uint kFloatToInteger = 36u;  // cut towards zero; word 3: the bits and sign of the result, as kFitsSigned
const uint kFloatIsNumber = 37u;   // the boolean of a float: whether it is not 0
const uint kWideFloat = 1u;
const uint kWideOperand = 2u;

// The field of a day: a number of days since 1970.
const uint kDayField = 38u;  // word 2: one of these
const uint kFieldYear = 0u;
const uint kFieldQuarter = 1u;
const uint kFieldMonth = 2u;
const uint kFieldDay = 3u;
const uint kFieldDayOfWeek = 4u;
const uint kFieldIsoDayOfWeek = 5u;

// Texts, whose registers hold the numbers of strings. Word 4: the word from `steps` on where the StringsView of the
// first operand is.
const uint kTextCompare = 39u;  // word 2: the comparator; word 6: where the second's StringsView is, or without a
                                // second operand its size in bytes and the bytes
const uint kTextMatches = 40u;  // word 3: how many tokens; word 6: where they are
const uint kAnyPoint = 0x100u;  // a token is a byte, or one of these: a code point,
const uint kAnyText = 0x101u;   // and any text

// Word 2 of kFloatOfInteger: the step is not exact for integers that take more bits than the float has.
const uint kExactOnly = 4u;

// The form of a step that can have no value for a row: bits 16 and 17 of word 1.
const uint kFailureIsError = 0u;
const uint kFailureIsNull = 1u;
const uint kFailureWraps = 2u;
const uint kFailureIsUnsettled = 3u;  // the steps do not compute such rows

// The state that rows leave behind.
const uint kRowFailed = 1u;     // a row has no value, and asks for one
const uint kRowUnsettled = 2u;  // the steps do not compute what a row has

/// Runs steps for each row.
struct ExpressionPush {
  device_address steps;  // num_steps × kExpressionStepWords
  device_address state;  // a word of kRowFailed and kRowUnsettled
  uint num_steps;
  uint num_rows;
};

GARUDA_SHADER_END

#endif
