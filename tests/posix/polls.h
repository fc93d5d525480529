// The suite of tests about waiting for descriptors. They stand in several files.
#pragma once

#include "support/run_at.h"

namespace thrum::test {

class posix_polls : public at_every_width {};

}  // namespace thrum::test
