// An easy handle of libcurl.
#pragma once

#include <cstddef>
#include <string>

#include <curl/curl.h>

namespace thrum::test {

class easy {
 public:
  easy() : it_(curl_easy_init()) {
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_WRITEFUNCTION, &take);
    set(CURLOPT_WRITEDATA, &page_);
  }
  ~easy() { curl_easy_cleanup(it_); }
  easy(easy const&) = delete;
  easy& operator=(easy const&) = delete;

  template <class T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(it_, option, value);
  }

  CURLcode get(std::string const& url) {
    page_.clear();
    set(CURLOPT_URL, url.c_str());
    return curl_easy_perform(it_);
  }
  [[nodiscard]] long status() const {
    long code = 0;
    curl_easy_getinfo(it_, CURLINFO_RESPONSE_CODE, &code);
    return code;
  }
  [[nodiscard]] std::string const& page() const { return page_; }

 private:
  static std::size_t take(char* data, std::size_t size, std::size_t count, void* to) {
    static_cast<std::string*>(to)->append(data, size * count);
    return size * count;
  }

  CURL* it_;
  std::string page_;
};

}  // namespace thrum::test
