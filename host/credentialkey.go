package host

import (
	"regexp"
	"slices"
	"strings"
)

// kindOfKey says whether what a key names is a credential.
type kindOfKey int

const (
	harmlessKey   kindOfKey = iota
	certainKey              // everywhere, also before a colon
	mostlyKey               // before "=": libsecret-1-0:amd64 is a package
	likelyKey               // before "=", unless the value is a switch
	spokenKey               // on a kernel command line and in the query of a URL
	contextualKey           // there, unless the value is a switch
)

var camelCase = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// keyWords splits rd.znet_pw, X-Amz-Signature and accessKey into words of small letters.
func keyWords(key string) []string {
	key = strings.ToLower(camelCase.ReplaceAllString(key, "${1}_${2}"))
	words := strings.FieldsFunc(key, func(c rune) bool { return c == '.' || c == '_' || c == '-' })
	for i, w := range words {
		if short := strings.TrimRight(w, "0123456789"); short != "" {
			words[i] = short
		}
	}
	return words
}

func keyKind(key string) kindOfKey {
	words := keyWords(key)
	if len(words) == 0 {
		return harmlessKey
	}
	last := words[len(words)-1]
	if len(words) > 1 && slices.Contains(aboutCredential(), last) {
		return harmlessKey
	}
	ends := func(w string, endings ...string) bool {
		return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(w, e) })
	}
	if slices.Contains(certainWords(), last) || slices.Contains(certainParts(), last) {
		return certainKey
	}
	if len(words) > 1 && slices.Contains(compoundKeys(), words[len(words)-2]+last) || slices.Contains(compoundKeys(), last) {
		return certainKey
	}
	for i, w := range words {
		spoken := ends(w, certainEnds()...) || ends(w, "pass") && !slices.Contains(notPass(), w)
		switch {
		case slices.ContainsFunc(certainParts(), func(part string) bool { return strings.Contains(w, part) }),
			spoken && i == len(words)-1 && !strings.HasPrefix(w, "lib"):
			return mostlyKey
		case spoken && !strings.HasPrefix(w, "lib"):
			return spokenKey
		}
	}
	switch {
	case ends(last, "pw"), slices.Contains(words, "bearer"), last == "auth", last == "signature":
		return likelyKey
	case last == "sig", last == "wep", last == "wpa", last == "cred", last == "chap", last == "hmac", ends(last, "auth"),
		ends(last, "key") && !slices.Contains(notKey(), last):
		return contextualKey
	}
	return harmlessKey
}

// kindIsWeak says that a value such as "on" shows a key to be no credential's.
func kindIsWeak(key string) bool {
	kind := keyKind(key)
	return kind == likelyKey || kind == contextualKey
}

var number = regexp.MustCompile(`^\d{1,3}$`)

// isSwitch says that a value is a choice and no secret; a number of up to three digits is one too:
// in the kernel's log sig=11 is a signal.
func isSwitch(value string) bool {
	return number.MatchString(value) ||
		slices.Contains([]string{"on", "off", "yes", "no", "y", "n", "true", "false", "auto", "none", "sys", "enabled", "disabled", "(null)"}, strings.ToLower(value))
}

// Words in which these letters are something else.
func notPass() []string {
	return []string{"bypass", "compass", "encompass", "multipass", "surpass", "trespass"}
}

// pkey is InfiniBand's P_Key, lkey and rkey belong to memory regions; gpgkey, pubkey and the
// like are public, or paths.
func notKey() []string {
	return []string{"pkey", "lkey", "rkey", "qkey", "mkey", "gpgkey", "pubkey", "hotkey", "monkey", "turkey", "clientkey", "sslclientkey", "nokey", "sysrqkey"}
}

// What a key that speaks of a credential asks about it.
func aboutCredential() []string {
	return []string{"timeout", "type", "enforce", "size", "length", "len", "echo", "count", "retries", "tries", "map", "table", "board"}
}

func compoundKeys() []string {
	return []string{"apikey", "accesskey", "privatekey", "authkey", "secretkey", "accountkey", "sessionkey", "sharedkey", "encryptionkey"}
}

func certainParts() []string {
	return []string{"password", "passwd", "passphrase", "passwort"}
}

func certainWords() []string {
	return []string{"pass", "pwd", "token", "secret", "psk", "credential", "credentials"}
}

func certainEnds() []string {
	return []string{"pwd", "passcode", "secret", "secrets", "token", "tokens", "credential", "credentials", "creds", "psk"}
}
