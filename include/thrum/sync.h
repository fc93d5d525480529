// Synchronisation between goroutines.
#pragma once

#include <thrum/barrier.h>
#include <thrum/condition_variable.h>
#include <thrum/group.h>
#include <thrum/latch.h>
#include <thrum/mutex.h>
#include <thrum/once.h>
#include <thrum/once_value.h>
#include <thrum/semaphore.h>
#include <thrum/shared_mutex.h>
#include <thrum/wait_group.h>
