// Synchronisation between goroutines.
#pragma once

#include <thrum/group.h>
#include <thrum/mutex.h>
#include <thrum/once.h>
#include <thrum/wait_group.h>
