package leaf

import (
	"errors"
	"testing"
)

func TestOlderLibrary(t *testing.T) {
	for version, isEnough := range map[string]bool{
		builtFor: true, "0.0.9": false, "0.1": true, "0.1.1": true, "0.10.0": true, "1.0.0": true, "0": false, "": false,
	} {
		err := requireVersion(version)
		if (err == nil) != isEnough {
			t.Errorf("%q: %v", version, err)
		}
		if err != nil && (!errors.Is(err, ErrFailed) || err.(*Error).Hint == "") {
			t.Error(err)
		}
	}
	if err := requireVersion(Version()); err != nil {
		t.Error(err)
	}
}
