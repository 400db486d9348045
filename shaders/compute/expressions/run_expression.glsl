// The steps of an expression for one row. Included behind expression_layout.h, words.glsl, integers.glsl, floats.glsl
// (NATIVE_FLOATS: native_floats.glsl), calendar.glsl and texts.glsl. The includer defines keep_result: compute passes write results to memory, and the vertex
// stage, which has no stores, gives them to the point that it draws.

/// A step, unpacked.
struct ExpressionStep {
  uint function;
  uint form;
  uvec2 numbers;
  uvec4 value;
};

/// The operands of a step, as far as it has them.
struct Operands {
  uvec4 first;
  uvec4 second;
  uvec4 third;
};

const uvec4 kNone = uvec4(0u);
const uvec4 kOne = uvec4(1u, 0u, 0u, 0u);

uvec4 boolean(bool value) { return value ? kOne : kNone; }

uvec4 loaded(ExpressionStep step, uint row) {
  uint words = step.numbers.x & 0xffu;
  uvec2 address = element_at(step.value.xy, words, row);
  uvec4 value = uvec4(InputWords(address).at[0], 0u, 0u, 0u);
  for (uint w = 1u; w < words; ++w) value[w] = InputWords(address).at[w];
  bool is_below_zero = (step.numbers.x & kLoadSigned) != 0u && value[words - 1u] >> 31 != 0u;
  if (is_below_zero)
    for (uint w = words; w < 4u; ++w) value[w] = 0xffffffffu;
  return value;
}

// Keeps the result of a row: kStore, kStoreTrue, kMarkNull or kStoreNulls. `null_bits`: the row's word of null bits.
void keep_result(ExpressionStep step, uvec4 value, bool has_value, uint row, inout uint null_bits);

// Below 0, 0 or above.
int order_of(uint order, uvec4 a, uvec4 b) {
  if (order != kOrderIntegers) {
    a = float_order(a.xy, order == kOrderFloat64);
    b = float_order(b.xy, order == kOrderFloat64);
  }
  return a == b ? 0 : is_less(a, b) ? -1 : 1;
}

// Comparators are in the order of garuda::Comparator.
bool holds(uint comparator, int order) {
  if (comparator == 0u) return order == 0;
  if (comparator == 1u) return order != 0;
  if (comparator == 2u) return order < 0;
  if (comparator == 3u) return order <= 0;
  if (comparator == 4u) return order > 0;
  return order >= 0;
}

bool is_among(uvec2 steps, ExpressionStep step, uvec4 value) {
  uvec2 constants = advanced(steps, step.value.x);
  for (uint i = 0u; i < step.numbers.y; ++i)
    if (order_of(step.numbers.x, InputQuads(constants).at[i], value) == 0) return true;
  return false;
}

// Cuts a value to what its type holds. Returns whether that is all of it.
bool settled(uint fits, uvec4 bound, inout uvec4 value) {
  if (fits == kFitsDecimal) return is_below(magnitude(value), bound);
  int bits = int(fits & 0xffu);
  uvec4 cut = shifted_down(shifted_up(value, 128 - bits), 128 - bits);
  bool is_signed = (fits & kFitsSigned) != 0u;
  if (is_signed && (shifted_down(cut, bits - 1).x & 1u) != 0u)
    cut = cut | shifted_up(uvec4(0xffffffffu), bits);
  bool is_whole = cut == value;
  value = cut;
  return is_whole;
}

// A step of integers: whether the result has lost digits, in `beyond`; whether there is none, in `undefined`.
uvec4 integer_result(ExpressionStep step, Operands operands, out bool beyond, out bool undefined) {
  uvec4 a = operands.first;
  uvec4 b = operands.second;
  beyond = false;
  undefined = false;
  uvec4 value = a;
  if (step.function == kAdd || step.function == kSubtract) {
    value = step.function == kAdd ? sum(a, b) : difference(a, b);
    // Opposites of the least number are none of the types' values.
    bool are_alike = is_negative(a) == (is_negative(b) == (step.function == kAdd));
    beyond = are_alike && is_negative(value) != is_negative(a);
  } else if (step.function == kAbsolute) {
    value = magnitude(a);
  } else if (step.function == kToBoolean) {
    return boolean(a != kNone);
  } else if (step.function != kSettle) {
    bool multiplies = step.function == kMultiply || step.function == kMultiplyDivide;
    bool divides = step.function != kMultiply;
    bool negative = is_negative(a) != is_negative(b);
    uvec4 high = kNone;
    uvec4 low = magnitude(a);
    if (multiplies) low = product(low, magnitude(b), high);
    uvec4 divisor = magnitude(multiplies ? operands.third : b);
    if (divides) {
      undefined = divisor == kNone;
      if (undefined) return kNone;
      if (multiplies) negative = negative != is_negative(operands.third);
      uvec4 rest = divide(low, high, divisor);
      bool is_floor = step.function == kFloorQuotient || step.function == kFloorRemainder;
      bool turns = is_floor && rest != kNone && negative;
      if (step.function == kRemainder || step.function == kFloorRemainder) {
        low = turns ? difference(divisor, rest) : rest;
        high = kNone;
        negative = is_negative(step.function == kRemainder ? a : b);
      } else {
        bool rounds_up = multiplies && !is_below(rest, difference(divisor, rest));
        if (turns || rounds_up) low = sum(low, kOne);
        if ((turns || rounds_up) && low == kNone) high = sum(high, kOne);
      }
    }
    beyond = high != kNone || is_negative(low);
    value = with_sign(low, negative);
  }
  if (!settled(step.numbers.x, step.value, value)) beyond = true;
  return value;
}

// A step of floats. `unsettled`: the operand has more digits than the step is made for.
uvec4 float_result(ExpressionStep step, Operands operands, out bool unsettled) {
  bool wide = (step.numbers.x & kWideFloat) != 0u;
  bool is_of_wide = step.function == kFloatOfFloat ? (step.numbers.x & kWideOperand) != 0u : wide;
  uint sign_word = wide ? 1u : 0u;
  unsettled = false;
  uvec4 bits = operands.first;
  if (step.function == kFloatOpposite || step.function == kFloatAbsolute) {
    bits[sign_word] = step.function == kFloatOpposite ? bits[sign_word] ^ 0x80000000u : bits[sign_word] & 0x7fffffffu;
    return bits;
  }
  if (step.function == kFloatOfInteger && (step.numbers.x & kExactOnly) != 0u)
    unsettled = highest_bit(magnitude(operands.first)) >= int(digits_of(wide));
#ifdef NATIVE_FLOATS
  uvec2 native;
  if (has_native_result(step.function, wide, is_of_wide, operands.first, operands.second, native))
    return uvec4(native, 0u, 0u);
#endif
  Float number = float_of_bits(operands.first.xy, is_of_wide);
  Float other = float_of_bits(operands.second.xy, wide);
  bool rest = false;
  if (step.function == kFloatOfInteger) {
    number = Float(is_negative(operands.first), false, false, 0, magnitude(operands.first));
  } else if (step.function == kFloatAdd || step.function == kFloatSubtract) {
    if (step.function == kFloatSubtract) other.negative = !other.negative;
    number = float_sum(number, other, rest);
  } else if (step.function == kFloatMultiply || step.function == kFloatDivide) {
    bool divides = step.function == kFloatDivide;
    bool is_zero = number.digits == kNone && !number.is_infinite;
    bool is_other_zero = other.digits == kNone && !other.is_infinite;
    Float result;
    result.negative = number.negative != other.negative;
    result.is_nan = number.is_nan || other.is_nan ||
                    (divides ? (is_zero && is_other_zero) || (number.is_infinite && other.is_infinite)
                             : (is_zero && other.is_infinite) || (number.is_infinite && is_other_zero));
    result.is_infinite = divides ? number.is_infinite || is_other_zero : number.is_infinite || other.is_infinite;
    result.digits = kNone;
    uvec4 high = kNone;
    if (divides) {
      // So many digits come before the point that a float's and one to round by are there.
      int up = 120 - highest_bit(number.digits);
      result.exponent = number.exponent - up - other.exponent;
      if (!result.is_infinite && !result.is_nan && !is_zero && !other.is_infinite) {
        result.digits = shifted_up(number.digits, up);
        rest = divide(result.digits, high, other.digits) != kNone;
      }
    } else {
      result.exponent = number.exponent + other.exponent;
      result.digits = product(number.digits, other.digits, high);
    }
    number = result;
  }
  return uvec4(nearest_float(number, rest, wide), 0u, 0u);
}

// The whole part of a float. `undefined`: there is none, or it does not fit.
uvec4 whole_part(ExpressionStep step, uvec4 bits, out bool undefined) {
  Float number = float_of_bits(bits.xy, (step.numbers.x & kWideOperand) != 0u);
  int top = highest_bit(number.digits) + number.exponent;
  undefined = number.is_nan || number.is_infinite || (number.digits != kNone && top >= 126);
  if (undefined) return kNone;
  uvec4 whole = number.exponent >= 0 ? shifted_up(number.digits, number.exponent)
                                     : shifted_down(number.digits, -number.exponent);
  uvec4 value = with_sign(whole, number.negative);
  undefined = !settled(step.numbers.y, kNone, value);
  return value;
}

// Runs the steps for a row. Returns what is to be said of it: kRowFailed, kRowUnsettled.
uint run_steps(uvec2 steps, uint num_steps, uint row) {
  uvec4 registers[kRegisters];
  uint valid = 0u;
  uint null_bits = 0u;
  uint said = 0u;
  for (uint s = 0u; s < num_steps; ++s) {
    uvec4 head = InputQuads(steps).at[s * 2u];
    ExpressionStep step = ExpressionStep(head.x & 0xffu, head.y >> 16 & 3u, head.zw, InputQuads(steps).at[s * 2u + 1u]);
    uint target = head.x >> 8 & 0xffu;
    uint first = head.x >> 16 & 0xffu;
    uint second = head.x >> 24;
    uint third = head.y & 0xffu;
    uint guard = head.y >> 8 & 0xffu;
    Operands operands;
    operands.first = first == kNoOperand ? kNone : registers[first];
    operands.second = second == kNoOperand ? kNone : registers[second];
    operands.third = third == kNoOperand ? kNone : registers[third];
    bool has_first = first == kNoOperand || (valid >> first & 1u) != 0u;
    bool has_second = second == kNoOperand || (valid >> second & 1u) != 0u;
    bool has_third = third == kNoOperand || (valid >> third & 1u) != 0u;
    uvec4 value = kNone;
    bool has_value = has_first && has_second && has_third;
    bool is_lost = false;
    if (step.function <= kStoreNulls) {
      if (step.function == kLoad) {
        value = loaded(step, row);
        uvec2 nulls = step.value.zw;
        has_value = nulls == uvec2(0u) || (InputWords(nulls).at[row] >> step.numbers.y & 1u) == 0u;
      } else if (step.function == kConstant) {
        value = step.value;
        has_value = step.numbers.x != 0u;
      } else {
        keep_result(step, operands.first, has_first, row, null_bits);
        continue;
      }
    } else if (step.function < kFirstInteger) {
      bool is_first = operands.first.x != 0u;
      bool is_second = operands.second.x != 0u;
      if (step.function == kCompare) {
        value = boolean(holds(step.numbers.x >> 8, order_of(step.numbers.x & 0xffu, operands.first, operands.second)));
      } else if (step.function == kAll || step.function == kAny) {
        // The value that decides alone: false for `and`, true for `or`.
        bool deciding = step.function == kAny;
        bool decides = (has_first && is_first == deciding) || (has_second && is_second == deciding);
        has_value = has_value || decides;
        value = boolean(decides ? deciding : !deciding);
      } else if (step.function == kNot) {
        value = boolean(!is_first);
      } else if (step.function == kIsNull) {
        value = boolean(!has_first);
        has_value = true;
      } else if (step.function == kIsTrue) {
        value = boolean(has_first && is_first);
        has_value = true;
      } else if (step.function == kSelect) {
        bool takes_second = has_first && is_first;
        value = takes_second ? operands.second : operands.third;
        has_value = takes_second ? has_second : has_third;
      } else if (step.function == kIn) {
        bool is_found = is_among(steps, step, operands.first);
        value = boolean(is_found);
        has_value = has_first && (is_found || step.value.z == 0u);
      } else {
        int order = has_first && has_second && step.function != kCoalesce
                        ? order_of(step.numbers.x, operands.first, operands.second)
                        : 0;
        bool is_other = !has_first || (step.function == kLeast ? order > 0 : order < 0);
        value = is_other ? operands.second : operands.first;
        has_value = has_first || has_second;
      }
    } else if (step.function <= kLastInteger) {
      bool beyond;
      bool undefined;
      value = integer_result(step, operands, beyond, undefined);
      // A decimal beyond its digits has no bits that would stand for it.
      bool wraps = step.form == kFailureWraps && step.numbers.x != kFitsDecimal;
      is_lost = undefined || (beyond && !wraps);
    } else if (step.function <= kLastFloat) {
      bool unsettled;
      value = float_result(step, operands, unsettled);
      if (unsettled && has_value) said |= kRowUnsettled;
    } else if (step.function == kFloatToInteger) {
      value = whole_part(step, operands.first, is_lost);
    } else if (step.function == kFloatIsNumber) {
      bool wide = (step.numbers.x & kWideOperand) != 0u;
      value = boolean((wide ? operands.first.x | (operands.first.y & 0x7fffffffu) : operands.first.x & 0x7fffffffu) != 0u);
    } else if (step.function == kTextCompare || step.function == kTextMatches) {
      if (has_value) {
        Text text = column_text(steps, step.value.x, operands.first.x);
        bool is_true = false;
        if (step.function == kTextMatches) {
          is_true = matches(steps, step.value.z, step.numbers.y, text);
        } else {
          Text other = second == kNoOperand ? constant_text(steps, step.value.z)
                                            : column_text(steps, step.value.z, operands.second.x);
          bool by_equality = step.numbers.x < 2u;  // which reads nothing of texts whose lengths differ
          int order = by_equality ? (are_equal(text, other) ? 0 : 1) : order_of(text, other);
          is_true = holds(step.numbers.x, order);
        }
        value = boolean(is_true);
      }
    } else {
      if (has_value && !is_near(operands.first)) said |= kRowUnsettled;
      value = day_field(step.numbers.x, operands.first);
    }
    if (is_lost && has_value) {
      bool is_asked = guard == kNoOperand || ((valid >> guard & 1u) != 0u && registers[guard].x != 0u);
      if (step.form == kFailureIsError && is_asked) said |= kRowFailed;
      if (step.form == kFailureIsUnsettled) said |= kRowUnsettled;
      has_value = false;
    }
    registers[target] = value;
    valid = has_value ? valid | 1u << target : valid & ~(1u << target);
  }
  return said;
}
