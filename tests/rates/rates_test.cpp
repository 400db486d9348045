#include "operators/rates/rates.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

namespace garuda::rates {
namespace {

TEST(RateCurve, InterpolatesOnLogarithmicScalesAndHoldsBeyondItsEnds) {
  RateCurve const curve{{{4, 1600}, {64, 100}}};
  EXPECT_DOUBLE_EQ(curve.at(1), 1600);
  EXPECT_DOUBLE_EQ(curve.at(4), 1600);
  EXPECT_NEAR(curve.at(16), 400, 1e-9);
  EXPECT_DOUBLE_EQ(curve.at(64), 100);
  EXPECT_DOUBLE_EQ(curve.at(1e12), 100);
  EXPECT_THROW(RateCurve{}.at(1), LogicError);
}

TEST(Rates, DefaultsAreSaneForEveryKindOfDevice) {
  for (auto const type : {vk::DeviceType::discrete, vk::DeviceType::integrated, vk::DeviceType::virtual_gpu,
                          vk::DeviceType::cpu, vk::DeviceType::other})
    EXPECT_TRUE(are_sane(default_device_rates(type))) << to_string(type);
  EXPECT_TRUE(are_sane(default_host_rates(1)));
  EXPECT_LT(default_host_rates(1).built_rows.at(1e6), default_host_rates(8).built_rows.at(1e6));
}

TEST(Rates, DefaultsBelongToTheirFields) {
  for (auto const type : {vk::DeviceType::discrete, vk::DeviceType::integrated, vk::DeviceType::virtual_gpu,
                          vk::DeviceType::cpu, vk::DeviceType::other}) {
    SCOPED_TRACE(to_string(type));
    auto const rates = default_device_rates(type);
    // Copying by a team was measured on no device whose rates are assumed.
    EXPECT_EQ(rates.team_upload_bytes_per_s, 0);
    EXPECT_EQ(rates.team_download_bytes_per_s, 0);
    // A small image is in a cache, so its rates are those of the large one or better; 0 stands for those.
    auto const expect_not_slower = [](double small, double large) { EXPECT_TRUE(small == 0 || small >= large); };
    expect_not_slower(rates.small_random_points_per_s, rates.random_points_per_s);
    expect_not_slower(rates.small_ordered_points_per_s, rates.ordered_points_per_s);
    expect_not_slower(rates.small_random_blends_per_s, rates.random_blends_per_s);
    expect_not_slower(rates.small_ordered_blends_per_s, rates.ordered_blends_per_s);
    expect_not_slower(rates.small_random_reads_per_s, rates.random_reads_per_s);
  }
}

TEST(Rates, WhatCannotBeIsNotSane) {
  auto const good = default_device_rates(vk::DeviceType::discrete);
  for (auto const& field : device_rate_fields()) {
    for (auto const bad : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
      auto rates = good;
      rates.*field.value = bad;
      EXPECT_FALSE(are_sane(rates)) << field.name << " " << bad;
    }
    auto absent = good;
    absent.*field.value = 0;
    EXPECT_EQ(are_sane(absent), field.optional) << field.name;
  }
  auto host = default_host_rates(2);
  host.built_rows.points = {{10, 1}, {10, 2}};
  EXPECT_FALSE(are_sane(host));
  host.built_rows.points.clear();
  EXPECT_FALSE(are_sane(host));
}

TEST(Rates, NamesDiffer) {
  std::set<std::string_view> names;
  for (auto const& field : device_rate_fields()) EXPECT_TRUE(names.insert(field.name).second) << field.name;
  names.clear();
  for (auto const& field : host_rate_fields()) EXPECT_TRUE(names.insert(field.name).second) << field.name;
  for (auto const& field : host_curve_fields()) EXPECT_TRUE(names.insert(field.name).second) << field.name;
}

}  // namespace
}  // namespace garuda::rates
