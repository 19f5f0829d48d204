// Check of an argument on the host: `require` throws std::invalid_argument.
#pragma once

#include <stdexcept>

namespace jf {

// what: const char* or std::string.
template <class What>
void require(bool ok, const What& what) {
  if (!ok) throw std::invalid_argument(what);
}

}  // namespace jf
