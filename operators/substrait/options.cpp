#include "operators/substrait/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "operators/substrait/field_numbers.hpp"

namespace garuda::substrait {
namespace {

enum class Results { any, floats, others };

/// A meaning of an option that queries have, of the functions that have it.
struct OptionRow {
  std::string_view option;
  std::string_view value;
  std::string_view function = {};  ///< Empty: of all that no row names.
  Results results = Results::any;
};

constexpr OptionRow kOptions[] = {
    {"overflow", "ERROR"},
    // No count passes 64 bits.
    {"overflow", "SILENT", "count"},
    {"overflow", "SATURATE", "count"},
    {"overflow", "ERROR", "count"},
    {"rounding", "TIE_TO_EVEN"},
    {"rounding", "TIE_AWAY_FROM_ZERO", "round"},
    {"on_domain_error", "NAN", {}, Results::floats},
    {"on_domain_error", "ERROR", {}, Results::others},
    {"on_division_by_zero", "LIMIT", {}, Results::floats},
    {"on_division_by_zero", "ERROR", {}, Results::others},
    {"division_type", "TRUNCATE"},
    {"case_sensitivity", "CASE_SENSITIVE"},
    {"char_set", "UTF8"},
    {"null_handling", "IGNORE_NULLS", "concat"},
    {"null_handling", "ACCEPT_NULLS", "concat"},
    {"negative_start", "LEFT_OF_BEGINNING"},
    {"multiline", "MULTILINE_DISABLED"},
    {"dotall", "DOTALL_DISABLED"},
    {"lookaround", "LOOKAROUND_DISABLED"},
    {"ignore_nulls", "TRUE"},
    {"distribution", "SAMPLE"},
    {"distribution", "POPULATION"},
};

bool has_row_of_its_own(std::string_view function, std::string_view option) {
  return std::ranges::any_of(kOptions,
                             [&](OptionRow const& row) { return row.option == option && row.function == function; });
}

bool is_done(std::string_view function, std::string_view option, std::string_view value, bool is_float) {
  auto const of = has_row_of_its_own(function, option) ? function : std::string_view();
  return std::ranges::any_of(kOptions, [&](OptionRow const& row) {
    return row.option == option && row.value == value && row.function == of &&
           (row.results == Results::any || (row.results == Results::floats) == is_float);
  });
}

}  // namespace

Result<std::vector<FunctionOption>> read_options(std::vector<Message> const& messages) {
  std::vector<FunctionOption> options;
  for (auto const& message : messages) {
    GARUDA_TRY_ASSIGN(auto const name, message.bytes(FunctionOptionField::name));
    GARUDA_TRY_ASSIGN(auto const values, message.all_bytes(FunctionOptionField::preference));
    if (!values.empty()) options.push_back({std::string(name), {values.begin(), values.end()}});
  }
  return options;
}

std::string value_of(std::vector<FunctionOption> const& options, std::string_view name) {
  auto const found = std::ranges::find(options, name, &FunctionOption::name);
  return found == options.end() ? std::string() : found->values.front();
}

Result<void> check_options(std::string const& function, std::vector<FunctionOption> const& options, bool is_float) {
  for (auto const& [name, values] : options) {
    if (std::ranges::any_of(values, [&](auto const& value) { return is_done(function, name, value, is_float); }))
      continue;
    return fail(ErrorCode::usage, fmt::format("the plan wants of function '{}' an option that queries do not have: {} "
                                              "{}",
                                              function, name, fmt::join(values, " or ")));
  }
  return {};
}

}  // namespace garuda::substrait
