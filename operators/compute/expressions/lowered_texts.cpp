// Comparisons of texts, and patterns, as steps of passes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "expr/comparators.hpp"
#include "expr/functions/function_rows.hpp"
#include "expr/functions/patterns.hpp"
#include "expr/functions/value_set.hpp"
#include "operators/compute/expressions/program_lowering.hpp"

namespace garuda::compute {
namespace {

constexpr std::size_t kQuadWords = 4;

tl::unexpected<Error> no_text_function(expr::Step const& step) {
  auto const text = expr::function_row(step.function).text;
  return fail(ErrorCode::invalid_input,
              fmt::format("shaders do not compute {} of texts", text.empty() ? "this" : text));
}

std::vector<std::uint32_t> tokens_of(std::string_view bytes) {
  std::vector<std::uint32_t> tokens;
  for (auto const byte : bytes) tokens.push_back(static_cast<unsigned char>(byte));
  return tokens;
}

std::vector<std::uint32_t> tokens_of(expr::LikePattern const& pattern) {
  std::vector<std::uint32_t> tokens;
  for (auto const& part : pattern.parts()) {
    if (&part != &pattern.parts().front()) tokens.push_back(shaders::kAnyText);
    auto literal = tokens_of(part.bytes);
    for (std::size_t i = 0; i < part.any.size(); ++i)
      if (part.any[i]) literal[i] = shaders::kAnyPoint;
    tokens.insert(tokens.end(), literal.begin(), literal.end());
  }
  return tokens;
}

}  // namespace

std::string const* ProgramLowering::constant_bytes(expr::Register from) const noexcept {
  if (is_input(from) || from >= program_.inputs.size() + program_.constants.size()) return nullptr;
  auto const& constant = program_.constants[from - program_.inputs.size()];
  return constant.is_null ? nullptr : &constant.bytes;
}

std::size_t ProgramLowering::keep_words(std::span<std::uint32_t const> words) {
  auto& kept = steps_.constants_;
  auto const place = kept.size();
  kept.insert(kept.end(), words.begin(), words.end());
  kept.resize((kept.size() + kQuadWords - 1) / kQuadWords * kQuadWords);
  return place;
}

std::size_t ProgramLowering::keep_view(expr::Register input) {
  std::array<std::uint32_t, sizeof(shaders::StringsView) / sizeof(std::uint32_t)> words{};
  std::memcpy(words.data(), &inputs_[input].strings, sizeof(words));
  return keep_words(words);
}

std::size_t ProgramLowering::keep_text(std::string_view text) {
  // A word is read with the one behind it.
  std::vector<std::uint32_t> words(2 + (text.size() + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t));
  words[0] = static_cast<std::uint32_t>(text.size());
  std::memcpy(words.data() + 1, text.data(), text.size());
  return keep_words(words);
}

void ProgramLowering::emit_kept(EmittedStep const& step, bool second) {
  constexpr std::size_t kFirstPlace = 4;
  constexpr std::size_t kSecondPlace = 6;
  steps_.constant_offsets_.push_back(steps_.steps_.size() + kFirstPlace);
  if (second) steps_.constant_offsets_.push_back(steps_.steps_.size() + kSecondPlace);
  emit(step);
}

Result<void> ProgramLowering::lower_texts(expr::Step const& step, EmittedStep emitted) {
  if (step.function == expr::Function::compare) return lower_text_comparison(step, emitted);
  if (!is_input(step.from[0]) || inputs_[step.from[0]].type.id == TypeId::fixed_size_binary)
    return no_text_function(step);
  if (step.function == expr::Function::in) return lower_text_set(step, emitted);
  std::vector<std::uint32_t> tokens;
  auto const* const part = step.from[1] == expr::kNoRegister ? nullptr : constant_bytes(step.from[1]);
  if (step.function == expr::Function::like) {
    tokens = tokens_of(*program_.details[step.detail].like);
  } else if (part != nullptr &&
             (step.function == expr::Function::starts_with || step.function == expr::Function::ends_with ||
              step.function == expr::Function::contains)) {
    tokens = tokens_of(*part);
    if (step.function != expr::Function::ends_with) tokens.push_back(shaders::kAnyText);
    if (step.function != expr::Function::starts_with) tokens.insert(tokens.begin(), shaders::kAnyText);
    // Tries go from code point to code point, which binary does not have.
    auto const& type = inputs_[step.from[0]].type;
    if (!is_text(type.id == TypeId::dictionary ? type.value->id : type.id) &&
        step.function != expr::Function::starts_with)
      return no_text_function(step);
  } else {
    return no_text_function(step);
  }
  GARUDA_TRY_ASSIGN(emitted.first, place(step.from[0]));
  emitted.function = shaders::kTextMatches;
  emitted.numbers = {0, static_cast<std::uint32_t>(tokens.size())};
  emitted.value = {keep_view(step.from[0]), keep_words(tokens)};
  emit_kept(emitted, true);
  return {};
}

Result<void> ProgramLowering::lower_text_comparison(expr::Step const& step, EmittedStep emitted) {
  auto first = step.from[0];
  auto second = step.from[1];
  auto comparator = step.comparator;
  if (!is_input(first)) {
    std::swap(first, second);
    comparator = expr::mirrored(comparator);
  }
  auto const* const text = constant_bytes(second);
  for (auto const from : {first, second})
    if (!(is_input(from) && inputs_[from].type.id != TypeId::fixed_size_binary) && !(from == second && text != nullptr))
      return no_text_function(step);
  GARUDA_TRY_ASSIGN(emitted.first, place(first));
  if (text == nullptr) {
    GARUDA_TRY_ASSIGN(emitted.second, place(second));
  }
  emitted.function = shaders::kTextCompare;
  emitted.numbers[0] = static_cast<std::uint32_t>(comparator);
  emitted.value[0] = keep_view(first);
  emitted.value[1] = text == nullptr ? keep_view(second) : keep_text(*text);
  emit_kept(emitted, true);
  if (step.null_is_false) emit({.function = shaders::kIsTrue, .target = emitted.target, .first = emitted.target});
  return {};
}

/// Compares with one constant after the other.
Result<void> ProgramLowering::lower_text_set(expr::Step const& step, EmittedStep emitted) {
  constexpr std::size_t kMostCompared = 64;
  auto const& set = *program_.details[step.detail].set;
  auto const& values = set.values<std::string_view>();
  if (values.empty() || values.size() > kMostCompared) return no_text_function(step);
  GARUDA_TRY_ASSIGN(emitted.first, place(step.from[0]));
  GARUDA_TRY_ASSIGN(auto const one, take_register());
  temporary_.push_back(one);
  // Null among the constants is what is left where none is equal.
  emit({.function = shaders::kConstant, .target = emitted.target, .numbers = {set.has_null() ? 0U : 1U, 0}});
  emitted.function = shaders::kTextCompare;
  auto const view = keep_view(step.from[0]);
  auto const target = std::exchange(emitted.target, one);
  for (auto const& value : values) {
    emitted.value = {view, keep_text(value)};
    emit_kept(emitted, true);
    emit({.function = shaders::kAny, .target = target, .first = target, .second = one});
  }
  return {};
}

}  // namespace garuda::compute
