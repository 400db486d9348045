// The first of a row's several words, made a hash of all of them.
#pragma once

#include <cstdint>
#include <span>

#include "keys/numbering/mix.hpp"

namespace garuda::keys {

/// Changes the first of several columns of words, `count` rows each, by what a row's other words hash to. Rows that
/// differ in any word then hardly ever agree in the first one, and are equal as before where all words are. Done
/// twice, nothing has changed. Of one column: nothing is done.
inline void fold_words(std::span<std::uint64_t* const> columns, std::uint64_t count) noexcept {
  if (columns.size() < 2) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t hash = 0;
    for (std::size_t w = 1; w < columns.size(); ++w) hash = mix(hash ^ columns[w][i]);
    columns[0][i] ^= hash;
  }
}

}  // namespace garuda::keys
