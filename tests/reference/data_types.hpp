// Types of the columns that tests make.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "garuda/types.hpp"

namespace garuda::reference {

/// Decimals with their precision and scale; other types have none.
inline DataType typed(TypeId id, std::int32_t precision = 0, std::int32_t scale = 0) {
  DataType type{id};
  type.precision = precision;
  type.scale = scale;
  return type;
}

/// Times, durations, and timestamps with a zone perhaps.
inline DataType timed(TypeId id, TimeUnit unit, std::string zone = {}) {
  DataType type{id};
  type.unit = unit;
  type.timezone = std::move(zone);
  return type;
}

inline DataType dictionary_of(DataType value) {
  DataType type{TypeId::dictionary};
  type.value = std::make_shared<DataType const>(std::move(value));
  return type;
}

}  // namespace garuda::reference
