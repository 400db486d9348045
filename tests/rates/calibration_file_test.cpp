// Files of calibrations: there and back, and whatever else may lie in their place.
#include "operators/rates/calibrations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/vk_runtime/scratch_folder.hpp"

namespace garuda::rates {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CalibrationFile : public ::testing::Test {
 protected:
  static std::string text_of(fs::path const& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

  fs::path written() {
    auto const file = write(folder_, subject_, rates_, "a test");
    EXPECT_TRUE(file) << file.error().describe();
    return *file;
  }

  /// Writes the file with `from` replaced by `to` and expects it to be ignored with a note that has `why` in it.
  void expect_ignored(std::string const& from, std::string const& to, std::string const& why) {
    auto const file = written();
    auto text = text_of(file);
    auto const position = text.find(from);
    ASSERT_NE(position, std::string::npos) << from;
    std::ofstream(file) << text.replace(position, from.size(), to);
    auto const found = read<DeviceRates>(folder_, subject_);
    EXPECT_FALSE(found.rates);
    EXPECT_THAT(found.note, HasSubstr(why));
    EXPECT_THAT(found.note, HasSubstr(file.string()));
  }

  vk::ScratchFolder scratch_;
  fs::path folder_ = scratch_.path() / "cache" / "calibration";
  Subject subject_{"A \"GPU\" \xff", "driver 1.2", "00ff-0001"};
  DeviceRates rates_ = default_device_rates(vk::DeviceType::discrete);
};

TEST_F(CalibrationFile, ThereAndBack) {
  written();
  auto const found = read<DeviceRates>(folder_, subject_);
  EXPECT_EQ(found.note, "");
  ASSERT_TRUE(found.rates);
  EXPECT_EQ(*found.rates, rates_);

  auto const host = default_host_rates(3);
  auto const subject = host_subject(3);
  ASSERT_TRUE(write(folder_, subject, host, "a test"));
  EXPECT_EQ(read<HostRates>(folder_, subject).rates, host);
  EXPECT_FALSE(read<HostRates>(folder_, host_subject(4)).rates);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2) << "no temporary file is left";
}

TEST_F(CalibrationFile, NoFileIsNoNews) {
  auto const found = read<DeviceRates>(folder_, subject_);
  EXPECT_FALSE(found.rates);
  EXPECT_EQ(found.note, "");
}

TEST_F(CalibrationFile, CutShortAnywhereIsIgnored) {
  auto const file = written();
  auto const whole = text_of(file);
  for (std::size_t size = 0; size + 2 < whole.size(); size += 7) {
    std::ofstream(file, std::ios::trunc) << whole.substr(0, size);
    auto const found = read<DeviceRates>(folder_, subject_);
    EXPECT_FALSE(found.rates) << size;
    EXPECT_THAT(found.note, HasSubstr("cut short")) << size;
  }
}

TEST_F(CalibrationFile, ForeignOrDamagedIsIgnored) {
  expect_ignored("\"garuda_version\": \"", "\"garuda_version\": \"9.", "another version of garuda");
  expect_ignored("\"format_version\": 3", "\"format_version\": 2", "format");
  expect_ignored("\"format\": \"", "\"format\": \"not ", "not a calibration");
  expect_ignored("driver 1.2", "driver 1.3", "another device or driver");
  expect_ignored("00ff-0001", "00ff-0002", "another device or driver");
  expect_ignored("\"rates\"", "\"rats\"", "lacks rates");
  expect_ignored("\"random_points\": ", "\"random_points\": -", "cannot be");
  expect_ignored("\"random_points\": ", "\"random_points\": null, \"x\": ", "lacks rates");
  expect_ignored("{", "[", "damaged");
}

TEST_F(CalibrationFile, WhatIsNoFileIsIgnored) {
  fs::create_directories(folder_ / file_name(subject_));
  EXPECT_THAT(read<DeviceRates>(folder_, subject_).note, HasSubstr("not a file"));
}

TEST_F(CalibrationFile, AFolderThatCannotBeWrittenIsAnError) {
  std::ofstream(scratch_.path() / "cache") << "a file";
  auto const file = write(folder_, subject_, rates_, "a test");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), ErrorCode::output);
}

TEST_F(CalibrationFile, RecordedOnesAreTakenFromAnySubject) {
  auto const file = written();
  auto const rates = read_recorded<DeviceRates>(file);
  ASSERT_TRUE(rates) << rates.error().describe();
  EXPECT_EQ(*rates, rates_);
  EXPECT_EQ(read_recorded<HostRates>(file).error().code(), ErrorCode::invalid_input);
}

}  // namespace
}  // namespace garuda::rates
