// Time: the clock, sleeping.
#pragma once

#include <thrum/clock.h>
#include <thrum/sleep.h>
