// The number of processors that this process may use, by affinity mask and control groups.
//
// The mask is set by taskset, Slurm and cpusets; CPU time is limited in containers.

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "core/engine.h"

namespace jf::cpu {
namespace {

constexpr int kNoLimit = std::numeric_limits<int>::max();

int processors_in_mask() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1u, std::thread::hardware_concurrency());  // a mask of over 1,024 processors
}

int threads_of_quota(double quota, double period) {
  if (!(quota > 0 && period > 0)) return kNoLimit;
  return static_cast<int>(std::clamp(std::ceil(quota / period), 1.0, 1e6));
}

// cpu.max of version 2 holds quota and period in one file, version 1 in two. "max" and -1 are no
// limit.
int limit_in(const std::string& folder) {
  double quota = 0, period = 0;
  if (std::ifstream(folder + "/cpu.max") >> quota >> period) return threads_of_quota(quota, period);
  if (std::ifstream(folder + "/cpu.cfs_quota_us") >> quota &&
      std::ifstream(folder + "/cpu.cfs_period_us") >> period)
    return threads_of_quota(quota, period);
  return kNoLimit;
}

}  // namespace

int control_group_threads(const std::string& root) {
  int least = kNoLimit;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:path
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && ("," + controllers + ",").find(",cpu,") == std::string::npos)
      continue;
    const std::string mount = root + "/sys/fs/cgroup" + (controllers.empty() ? "" : "/cpu");
    // Each group above limits it, too. In a container the path may be the host's: its own group is
    // what it sees mounted.
    for (std::string path = line.substr(second + 1);; path.erase(path.rfind('/'))) {
      least = std::min(least, limit_in(mount + path));
      if (path.find('/') == std::string::npos) break;
    }
  }
  return least == kNoLimit ? 0 : least;
}

int hardware_threads() {
  static const int limit = control_group_threads("");  // read once
  return limit > 0 ? std::min(processors_in_mask(), limit) : processors_in_mask();
}

}  // namespace jf::cpu
