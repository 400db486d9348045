#include "operators/resolve/sum_overflow.hpp"

#include <fmt/format.h>

#include "operators/materialize/value_text.hpp"

namespace garuda::resolve {

Error sum_overflow(ResolvedAggregate const& aggregate, std::optional<TableView> keys) {
  std::string group = keys ? "" : "of all rows";
  for (std::size_t k = 0; keys && k < keys->num_columns(); ++k)
    group += fmt::format("{}{} = {}", k == 0 ? "" : ", ", keys->schema()[k].name, materialize::value_text(*keys, k, 0));
  return Error(ErrorCode::invalid_input,
               fmt::format("'{}' is beyond {} in the group {}", aggregate.name, to_string(aggregate.result), group));
}

}  // namespace garuda::resolve
