// Fields of days since 1970-01-01 in the proleptic Gregorian calendar. Included behind expression_layout.h.

// Eras of 400 years by which days are moved, so that 32 bits hold four times as many of them.
const uint kEras = 1000u;
const uint kDaysOfEra = 146097u;
const uint kDaysBefore1970 = 719468u;  // from the March 1 of year 0

// Whether the days are so near to 1970 that 32 bits do.
bool is_near(uvec4 days) {
  uvec4 moved = sum(days, uvec4(kEras * kDaysOfEra + kDaysBefore1970, 0u, 0u, 0u));
  return moved.y == 0u && moved.z == 0u && moved.w == 0u && moved.x < 0x3fffffffu;
}

// Days are counted from a March 1 on, and fractions of centuries and years are products that are shifted (Neri and
// Schneider, Euclidean affine functions and their application to calendar algorithms, 2022).
uvec4 day_field(uint field, uvec4 days) {
  uint moved = days.x + kEras * kDaysOfEra + kDaysBefore1970;
  if (field >= kFieldDayOfWeek) {
    // The March 1 of year 0, and of every era, is a Wednesday.
    uint weekday = (moved + 3u) % 7u;
    return uvec4(field == kFieldIsoDayOfWeek && weekday == 0u ? 7u : weekday, 0u, 0u, 0u);
  }
  uint quarters = 4u * moved + 3u;
  uint century = quarters / kDaysOfEra;
  uint of_century = quarters % kDaysOfEra | 3u;
  uint year;
  uint fraction;
  umulExtended(2939745u, of_century, year, fraction);
  uint of_year = fraction / 2939745u / 4u;
  uint months = 2141u * of_year + 197913u;
  bool is_after_december = of_year >= 306u;
  uint month = (months >> 16) - (is_after_december ? 12u : 0u);
  if (field == kFieldDay) return uvec4((months & 0xffffu) / 2141u + 1u, 0u, 0u, 0u);
  if (field == kFieldMonth) return uvec4(month, 0u, 0u, 0u);
  if (field == kFieldQuarter) return uvec4((month + 2u) / 3u, 0u, 0u, 0u);
  uint civil = 100u * century + year + (is_after_december ? 1u : 0u);
  return difference(uvec4(civil, 0u, 0u, 0u), uvec4(400u * kEras, 0u, 0u, 0u));
}
