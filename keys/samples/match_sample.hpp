// About how many pairs two sides of keys have, from a sample.
#pragma once

#include <cstdint>

#include "keys/encoded_keys.hpp"

namespace garuda::keys {

/// Estimates the number of equal pairs of both sides: keys of one side drawn independently, looked for in short runs of
/// the other that are evenly spread. Unbiased; with unique keys on one side about one part in 16 off. 0 only when a
/// side is empty. Runs on the calling thread, below one millisecond whatever the sizes. The same for the same keys.
/// Requires: sides of one width.
double expected_matches(EncodedKeys const& left, EncodedKeys const& right);

}  // namespace garuda::keys
