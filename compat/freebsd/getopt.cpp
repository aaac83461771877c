// FreeBSD's getopt: see include/unistd.h.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>

namespace {

// Behind the option that was read last, in the same word; "" asks for the next word.
const char* rest = "";

void complain(bool quiet, const char* what, int option) {
    if (opterr != 0 && !quiet) std::fprintf(stderr, "%s: %s -- %c\n", getprogname(), what, option);
}

// True: `rest` begins with an option.
bool next_word(int argc, char* const argv[]) {
    if (optind >= argc || argv[optind] == nullptr) return false;
    const char* const word = argv[optind];
    if (word[0] != '-' || word[1] == '\0') return false;
    if (strcmp(word, "--") == 0) {
        ++optind;
        return false;
    }
    rest = word + 1;
    return true;
}

// The argument is what is left of the word, or else the next one.
bool take_argument(int argc, char* const argv[]) {
    if (*rest != '\0') {
        optarg = __DECONST(char*, rest);  // POSIX' type; it points into argv
    } else if (++optind < argc) {
        optarg = argv[optind];
    } else {
        return false;
    }
    rest = "";
    ++optind;
    return true;
}

}  // namespace

extern "C" {

int optreset;

int freebsd_getopt(int argc, char* const argv[], const char* options) {
    const bool quiet = options[0] == ':';
    if (optreset != 0) {
        optreset = 0;
        rest = "";
    }
    optarg = nullptr;
    if (*rest == '\0' && !next_word(argc, argv)) return -1;
    optopt = static_cast<unsigned char>(*rest++);
    const char* const known = optopt == ':' ? nullptr : strchr(options, optopt);
    if (known != nullptr && known[1] == ':') {
        if (take_argument(argc, argv)) return optopt;
        complain(quiet, "option requires an argument", optopt);
        return quiet ? ':' : '?';
    }
    if (*rest == '\0') ++optind;
    if (known != nullptr) return optopt;
    complain(quiet, "illegal option", optopt);
    return '?';
}

}  // extern "C"
