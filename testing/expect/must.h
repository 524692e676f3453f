#pragma once
// For doctest: the value of a Result that has to be one, or the test ends with the error's text.

#include <doctest/doctest.h>

#include <utility>

#include "base/error.h"

template <class T>
T must(tp::Result<T> result) {
  if (!result.ok()) FAIL(result.error().message());
  return std::move(result).value();
}
