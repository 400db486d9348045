// Words of values without codes: their ranks.
#pragma once

#include <vector>

#include "keys/codes/key_column.hpp"
#include "keys/order/order_words.hpp"

namespace garuda::keys {

/// What ranks are asked for; see OrderRequest.
struct RankUse {
  bool compares_columns = true;
  bool compares_order = true;
};

/// Words of 32 bits of the order of `columns` and `constants`, which are of a type without codes, opened to be compared
/// as `as`; without `valid`. Runs on the threads of the calling task arena. Throws std::bad_alloc. Errors: those of
/// encode_values.
Result<OrderedWords> rank_values(std::vector<KeyColumn> const& columns, std::vector<KeyColumn> const& constants,
                                 DataType const& as, RankUse use, Control const& control);

}  // namespace garuda::keys
